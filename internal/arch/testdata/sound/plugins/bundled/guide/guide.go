package guide

import (
	"strings"
	"time"

	_ "example.com/house/plugins/bundled/guide/texts"
	_ "example.com/house/plugins/sdk"
)

const id, wait = "guide", 3 * time.Second

var words = strings.Fields("a guide is no plugin here")
