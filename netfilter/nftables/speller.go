package nftables

// Speller spells rules in the language of a tool, for those who tell people of them.
type Speller interface {
	// Rule is a rule of a chain as the tool lists it.
	Rule(t *Table, c *Chain, r *Rule) string
	// Part is what the expressions from and before to of a rule are in it, such as "tcp dport 80"; empty if they are no part of their own.
	Part(t *Table, c *Chain, r *Rule, from, to int) string
	// Elements are elements of a set as the tool lists them, in their order; of intervals by their ends each pair is one.
	Elements(t *Table, s *Set, elements []*Element) []string
}

// SetSpeller has a speller spell the rules from now on.
func (k *Kernel) SetSpeller(s Speller) { k.speller.Store(&s) }

// Speller is the one that spells the rules; nil if there is none.
func (k *Kernel) Speller() Speller {
	if s := k.speller.Load(); s != nil {
		return *s
	}
	return nil
}
