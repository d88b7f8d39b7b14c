/* SHA-256 against the examples of FIPS 180-4 and against sha256sum's answers. */
#include "base/base.h"

#include <string.h>

#include "tap.h"

static void gives(const char *text, size_t len, const char *want, const char *what) {
    char hex[65];
    gi_sha256(text, len, hex);
    is_str(hex, want, what);
}

int main(void) {
    gives("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "no bytes");
    gives("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "abc");
    const char *two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    gives(two, strlen(two), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
          "56 bytes: the length needs a block of its own");
    static char many[1000000];
    memset(many, 'a', sizeof many);
    gives(many, 55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318", "55 bytes");
    gives(many, 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb",
          "one block");
    gives(many, sizeof many, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
          "a million bytes");
    return tap_done();
}
