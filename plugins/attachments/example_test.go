package attachments_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"log"
	"os"
	"path/filepath"

	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/plugins/attachments"
)

func Example() {
	home, err := os.MkdirTemp("", "home")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(home)
	store, err := attachments.New(attachments.Config{Dir: filepath.Join(home, "attachments")})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	var file bytes.Buffer
	if err := png.Encode(&file, image.NewGray(image.Rect(0, 0, 4000, 3000))); err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	ref, err := store.SaveImage(ctx, attachment.Image{Data: file.Bytes(), Declared: attachment.PNG, Name: "scan.png"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(ref.Name, ref.MediaType, ref.Width, ref.Height, *ref.OriginalDimensions)

	small, _, err := store.Variant(ctx, ref, attachment.Variant{MaxDimension: 768})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(small.Width, small.Height)

	_, err = store.SaveImage(ctx, attachment.Image{Data: file.Bytes()[:100], Declared: attachment.PNG})
	fmt.Println(err)
	// Output:
	// scan.png image/png 2048 1536 {4000 3000}
	// 768 576
	// the PNG image is cut off
}
