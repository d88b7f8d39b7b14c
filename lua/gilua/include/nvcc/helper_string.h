// helper_string.h - words of the command line as cuda-samples read them: --name, -name=value.
#ifndef GILUA_HELPER_STRING_H
#define GILUA_HELPER_STRING_H
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

// The text behind "name" of a word "-name=value"; "" where nothing is behind it; null: no such word.
static inline const char *gilua_option(int argc, const char **argv, const char *name)
{
    size_t n = strlen(name);
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i] + strspn(argv[i], "-");
        if (word != argv[i] && strncmp(word, name, n) == 0 && (word[n] == 0 || word[n] == '='))
            return word + n + (word[n] == '=');
    }
    return NULL;
}
static inline bool checkCmdLineFlag(int argc, const char **argv, const char *name)
{
    return gilua_option(argc, argv, name) != NULL;
}
static inline int getCmdLineArgumentInt(int argc, const char **argv, const char *name)
{
    const char *text = gilua_option(argc, argv, name);
    return text ? atoi(text) : 0;
}
static inline float getCmdLineArgumentFloat(int argc, const char **argv, const char *name)
{
    const char *text = gilua_option(argc, argv, name);
    return text ? static_cast<float>(atof(text)) : 0;
}
static inline bool getCmdLineArgumentString(int argc, const char **argv, const char *name, char **value)
{
    const char *text = gilua_option(argc, argv, name);
    *value = const_cast<char *>(text);
    return text != NULL;
}

// A file here, in data/, or beside the program; null where there is none.
static inline char *sdkFindFilePath(const char *name, const char *program)
{
    std::string beside = program ? program : "";
    beside.erase(beside.find_last_of('/') + 1);
    const std::string places[] = {"", "data/", "../data/", "Data/", beside, beside + "data/"};
    for (const std::string &place : places)
        if (FILE *file = fopen((place + name).c_str(), "rb")) {
            fclose(file);
            return strdup((place + name).c_str());
        }
    return NULL;
}

#endif
