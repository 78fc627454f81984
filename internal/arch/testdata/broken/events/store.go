package events

import (
	_ "example.com/house/kernel/turn" // want order
	_ "example.com/house/proto"
	_ "example.com/house/shed" // want order
)
