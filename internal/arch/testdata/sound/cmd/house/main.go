package main

import (
	_ "example.com/house/events/sqlite"
	_ "example.com/house/gateway/play"
	_ "example.com/house/plugins/bundled"
)

func main() {}
