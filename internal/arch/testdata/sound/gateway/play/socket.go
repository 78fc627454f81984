package play

func pump(f func()) { go f() }
