"""zip.py ZIP FILE... - the files in a ZIP archive that tells nothing of when and by whom."""
import os
import sys
import time
import zipfile


def add(archive, name, data, executable=False):
    """Adds data by that name, of the time SOURCE_DATE_EPOCH."""
    made = time.gmtime(max(int(os.environ["SOURCE_DATE_EPOCH"]), 315532800))[:6]  # ZIP begins in 1980
    entry = zipfile.ZipInfo(name, made)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 3
    entry.external_attr = (0o100755 if executable else 0o100644) << 16
    archive.writestr(entry, data, compresslevel=9)


def main(path, files):
    with zipfile.ZipFile(path, "w") as archive:
        for file in files:
            with open(file, "rb") as source:
                add(archive, os.path.basename(file), source.read())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
