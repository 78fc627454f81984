package play

import (
	_ "example.com/house/events"
	_ "example.com/house/events/memory" // want stores-by-cmd
	_ "example.com/house/projections/sql"
)
