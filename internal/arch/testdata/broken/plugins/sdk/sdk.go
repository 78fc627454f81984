package sdk

import (
	_ "example.com/house/internal/safego" // want sdk-alone
	_ "example.com/house/plugins/sdk/parts"
)
