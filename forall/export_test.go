package forall

// ForgettingAfter are options with which so many nodes are made before they are forgotten.
func (o Options) ForgettingAfter(nodes int) Options {
	o.generation = nodes
	return o
}
