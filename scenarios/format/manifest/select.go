package manifest

// Of are the objects of a type, such as *corev1.Service, of several with one name the last.
func Of[T any](objects []Object) []T {
	places := map[Ref]int{}
	var out []T
	for _, o := range objects {
		typed, ok := o.Object.(T)
		if !ok {
			continue
		}
		if place, known := places[o.Ref()]; known {
			out[place] = typed
			continue
		}
		places[o.Ref()] = len(out)
		out = append(out, typed)
	}
	return out
}
