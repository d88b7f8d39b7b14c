/* gilua_std.h - what libcu++ has of the C++ library stands under the names of std. */
#ifndef GILUA_STD_H
#define GILUA_STD_H

namespace std {
using namespace cuda::std;
}

#endif
