package tools

import (
	"sync"

	_ "example.com/house/plugins/bundled/narrator" // want bundled-by-cmd
	_ "example.com/house/projections/sql"          // want read-models
)

func start(f func()) {
	go f() // want goroutines
	var wg sync.WaitGroup
	wg.Go(f) // want goroutines
}
