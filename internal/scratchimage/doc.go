// Package scratchimage packs one static program into a container image from scratch, for the pods of kind clusters and for releases. It
// works without Docker, which would keep the image.
package scratchimage
