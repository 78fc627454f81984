package projections

import (
	. "strings" // want no-dot-import
	"time"

	_ "example.com/house/worlds" // want order
)

func fold() (string, time.Time) { return ToUpper("龙胆"), time.Now() } // want no-clock
