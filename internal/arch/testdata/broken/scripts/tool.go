package scripts // want order
