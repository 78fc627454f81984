package sql

import (
	_ "database/sql"

	_ "example.com/house/projections"
	_ "example.com/house/projections/engine"
)
