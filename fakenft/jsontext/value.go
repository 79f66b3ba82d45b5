package jsontext

// kind is a type of JSON.
type kind uint8

const (
	object kind = iota
	array
	text
	integer
	float
	yes
	no
	null
)

// kindNames are the types as nft and jansson name them.
var kindNames = [...]string{"object", "array", "string", "integer", "real", "true", "false", "null"}

func (k kind) String() string { return kindNames[k] }

// value is a value of JSON. A nil pointer is one that is not there.
type value struct {
	kind  kind
	key   string // within an object
	text  string // of a string, or of a real number as it was written
	num   int64
	items []value // of an array, or of an object in the order in which they were written
}

// get is a property of an object; nil if it has none of that name, or if v is no object.
func (v *value) get(name string) *value {
	if v == nil || v.kind != object {
		return nil
	}
	for i := range v.items {
		if v.items[i].key == name {
			return &v.items[i]
		}
	}
	return nil
}
