package llm

var roles = []string{"player", "guide", "master", "referee", "teller", "host", "actor", "旁白"}
