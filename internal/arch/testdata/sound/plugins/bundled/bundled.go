package bundled

import _ "example.com/house/plugins/bundled/guide"

var ids = []string{"guide"}
