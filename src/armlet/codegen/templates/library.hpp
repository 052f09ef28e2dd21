@banner
#ifndef @guard
#define @guard

@preamble
@definitions

#endif
