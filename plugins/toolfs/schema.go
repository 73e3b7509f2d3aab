package toolfs

import (
	"fmt"
	"strings"

	"github.com/bridle-go/bridle/harness/tool"
)

// The schemas are written out, so that what a model sees is the same to the
// byte on every machine.

const pathProperty = `"file_path":{"type":"string","description":"Path of the file; a relative one starts from the session's directory."}`

const writeProperties = pathProperty +
	`,"content":{"type":"string","description":"The whole content the file is to have."}`

const editProperties = pathProperty +
	`,"old_string":{"type":"string","description":"The literal text to replace, exactly as it stands in the file, blanks and indentation included."}` +
	`,"new_string":{"type":"string","description":"The text to put in its place."}` +
	`,"replace_all":{"type":"boolean","default":false,"description":"Replace every occurrence instead of demanding that there is one only."}`

const escalationProperties = `,"sandbox_permissions":{"type":"string","enum":["workspace-write","danger-full-access"],"description":"The wider sandbox mode to ask approval for, for this call only, after the sandbox denied it. Needs justification."}` +
	`,"justification":{"type":"string","description":"One sentence for the person who approves: why the wider mode is needed. Needs sandbox_permissions."}`

func changeSchema(confined bool, properties string, required ...string) tool.Schema {
	if confined {
		properties += escalationProperties
	}
	return object(properties, required...)
}

func object(properties string, required ...string) tool.Schema {
	return tool.Schema(fmt.Sprintf(`{"type":"object","properties":{%s},"required":["%s"]}`, properties, strings.Join(required, `","`)))
}

func readInput(limit int) tool.Schema {
	return object(pathProperty+
		`,"offset":{"type":"number","default":1,"description":"Number of the first line to show, from 1."}`+
		fmt.Sprintf(`,"limit":{"type":"number","default":%d,"description":"How many lines to show, at most %[1]d."}`, limit),
		"file_path")
}
