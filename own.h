#error the current folder
