#include "../torch.h"
