package trial

// Figures count what trials looked at. Its maps may be nil.
type Figures struct {
	// Cases are the scenarios run, States what was judged in them: once after every sync,
	// and once after every command in one.
	Cases  int `json:"cases"`
	States int `json:"states"`
	// Connections were judged there and back, Packets are single ones of connections that were kept.
	Connections int `json:"connections"`
	Packets     int `json:"packets"`
	// Clauses count how often each clause decided, by name.
	Clauses map[string]int `json:"clauses,omitempty"`
	// Marks count how often each mark of the proxier's decisions was reached, by name.
	Marks map[string]int `json:"marks,omitempty"`
	// Rules count by the kind of rule how many were there and how many of them met a packet.
	Rules map[string]RuleFigures `json:"rules,omitempty"`
}

// RuleFigures counts the rules of one kind: the chain (without its hash) and the target.
type RuleFigures struct {
	// There counts the rules that were there at the end of a case, Met those of them that matched a packet.
	There int `json:"there"`
	Met   int `json:"met"`
}

// Merge adds the figures of other trials.
func (f *Figures) Merge(other *Figures) {
	f.Cases += other.Cases
	f.States += other.States
	f.Connections += other.Connections
	f.Packets += other.Packets
	mergeCounts(&f.Clauses, other.Clauses)
	mergeCounts(&f.Marks, other.Marks)
	if f.Rules == nil && len(other.Rules) > 0 {
		f.Rules = map[string]RuleFigures{}
	}
	for kind, seen := range other.Rules {
		sum := f.Rules[kind]
		f.Rules[kind] = RuleFigures{There: sum.There + seen.There, Met: sum.Met + seen.Met}
	}
}

func mergeCounts(into *map[string]int, from map[string]int) {
	if *into == nil && len(from) > 0 {
		*into = map[string]int{}
	}
	for name, count := range from {
		(*into)[name] += count
	}
}
