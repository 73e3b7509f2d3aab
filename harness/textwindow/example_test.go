package textwindow_test

import (
	"fmt"

	"github.com/bridle-go/bridle/harness/textwindow"
)

func ExampleBuild() {
	w, err := textwindow.Build("alpha\nbeta\ngamma\n", textwindow.Options{Offset: 2, Limit: 1})
	fmt.Println(w.Format("/w/list.txt"), err)
	// Output:
	// <path>/w/list.txt</path>
	// <type>file</type>
	// <content>
	// 2: beta
	//
	// (Showing lines 2-2 of 3. Use offset=3 to continue.)
	// </content> <nil>
}
