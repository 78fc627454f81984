package session

import (
	_ "net/http" // want actors-no-http

	_ "example.com/house/events/sqlite"      // want stores-by-cmd
	_ "example.com/house/gateway/llm"        // want order actors-no-http
	_ "example.com/house/projections/engine" // want read-models
)
