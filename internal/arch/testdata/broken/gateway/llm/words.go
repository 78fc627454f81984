package llm

var (
	few  = []string{"player", "guide"}                                                                   // want no-plugin-names
	many = []string{"player", "narrator", "guide", "master", "referee", "teller", "host", "actor", "旁白"} // want no-plugin-names
)
