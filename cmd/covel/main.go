// Command covel is the program: it composes stores, ports, plugins and gateways, and holds the tools of operators.
package main

import (
	"fmt"
	"os"
)

// version is set by the build (-ldflags -X main.version=…).
var version = "dev"

func main() {
	if err := root().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "covel: "+err.Error())
		os.Exit(1)
	}
}
