// Command covel is the program: it composes stores, ports, plugins and gateways, and holds the tools of operators.
package main

import (
	"fmt"
	"os"
	"runtime/debug"
)

// version is set by the build (-ldflags -X main.version=…).
var version = "dev"

func main() {
	if os.Getenv("GOGC") == "" {
		// The live heap is small and a turn makes much that dies young: collecting less often costs a few megabytes and
		// keeps the collector out of turns.
		debug.SetGCPercent(400)
	}
	if err := root().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "covel: "+err.Error())
		os.Exit(1)
	}
}
