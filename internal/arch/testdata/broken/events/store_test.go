package events

import _ "example.com/house/gateway/play" // want order
