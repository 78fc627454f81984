package safego

func Go(name string, f func()) { go f() }
