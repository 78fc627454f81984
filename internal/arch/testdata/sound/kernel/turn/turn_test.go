package turn

import (
	_ "math/rand"
	_ "os"

	_ "example.com/house/gateway/llm/scripted"
	_ "example.com/house/plugins/bundled"
)

var plugin = "guide"
