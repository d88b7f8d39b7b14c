#define SCALE 5.0f
