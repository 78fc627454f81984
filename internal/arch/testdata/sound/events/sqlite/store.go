package sqlite

import (
	_ "os"

	_ "example.com/house/events"
	_ "example.com/house/events/memory"
)
