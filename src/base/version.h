/* version.h - the one place that says which gilua this is; the Makefile reads it too. */
#ifndef GILUA_VERSION_H
#define GILUA_VERSION_H

#define GILUA_VERSION "0.2.0"

#endif
