#pragma once

#include "cli/command.h"
