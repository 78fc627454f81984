package narrator

import (
	"os" // want pure-imports
	"time"

	_ "example.com/house/plugins/bundled/guide" // want plugins-are-strangers
	_ "example.com/house/plugins/sdk"
	_ "example.com/house/plugins/tools" // want plugins-are-strangers
)

const (
	id    = "narrator"
	other = "guide" // want no-plugin-names
)

var begin = time.Now() // want no-clock

func home() string { return os.Getenv("HOME") }
