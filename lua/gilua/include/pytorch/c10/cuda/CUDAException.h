#include "../../torch.h"
