@banner
@preamble@definitions
