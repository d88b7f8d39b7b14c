// helper_timer.h - the watch of cuda-samples: milliseconds by the host's clock.
#ifndef GILUA_HELPER_TIMER_H
#define GILUA_HELPER_TIMER_H
#include <chrono>

struct StopWatchInterface {
    typedef std::chrono::steady_clock Clock;
    Clock::time_point begun;
    float total = 0;
    int times = 0;
    bool runs = false;
    void start() { begun = Clock::now(), runs = true; }
    float since() const { return std::chrono::duration<float, std::milli>(Clock::now() - begun).count(); }
    void stop() { total += since(), times++, runs = false; }
    void reset() { total = 0, times = 0, begun = Clock::now(); }
    float getTime() const { return total + (runs ? since() : 0); }
    float getAverageTime() const { return times ? total / static_cast<float>(times) : 0; }
};
static inline bool sdkCreateTimer(StopWatchInterface **t) { return *t = new StopWatchInterface, true; }
static inline bool sdkDeleteTimer(StopWatchInterface **t) { return delete *t, *t = 0, true; }
static inline bool sdkStartTimer(StopWatchInterface **t) { return *t ? (*t)->start(), true : false; }
static inline bool sdkStopTimer(StopWatchInterface **t) { return *t ? (*t)->stop(), true : false; }
static inline bool sdkResetTimer(StopWatchInterface **t) { return *t ? (*t)->reset(), true : false; }
static inline float sdkGetTimerValue(StopWatchInterface **t) { return *t ? (*t)->getTime() : 0; }
static inline float sdkGetAverageTimerValue(StopWatchInterface **t) { return *t ? (*t)->getAverageTime() : 0; }

#endif
