package guide

import (
	_ "os"

	_ "example.com/house/plugins/registry"
)

func start(f func()) { go f() }
