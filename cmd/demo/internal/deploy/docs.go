package deploy

// doc says what a setting means and what counts where it is not given.
type doc struct{ standard, text string }

// docs hold one entry for each setting, by the Go name of its struct and its
// key. A test keeps them complete.
var docs = map[string]doc{
	"deploy.AgentSettings.maxParallel": {"10", "how many tool calls of one answer run at once"},
	"deploy.AgentSettings.maxSteps":    {"500", "how many steps a turn may have"},
	"agent.Retry.attempts":             {"5", "how often a request is made, the first time included; 1 never repeats it"},
	"agent.Retry.base":                 {"500ms", "the wait before the second attempt; it doubles with each further one"},
	"agent.Retry.max":                  {"30s", "the longest wait of our own choice"},
	"agent.Retry.maxRetryAfter":        {"5m", "the longest wait that a provider may ask for"},
	"llm.Options.maxOutputTokens":      {"the provider's", "how many tokens an answer may have"},
	"llm.Options.temperature":          {"the provider's", "how freely the model chooses its words"},
	"llm.Options.reasoningEffort":      {"the provider's", "how much the model thinks, one of the model's efforts"},
	"llm.Options.extra":                {"", "fields for the body of every request"},

	"fslocal.Config.cwd":               {"the workspace", "where relative paths start for callers without a session"},
	"fslocal.Config.diffBasisMaxBytes": {"10485760", "size in bytes from which a change shows no difference"},
	"fslocal.Config.statDigestBytes":   {"16777216", "size in bytes up to which a file that changed a moment ago is told by its content"},
	"fslocal.Config.recoveryDir":       {"recovery in the store", "where copies are kept while a file is overwritten in place"},

	"sandbox.PolicyConfig.mode":     {"read-only", "the mode of sessions that say nothing else"},
	"sandbox.PolicyConfig.roots":    {"", "absolute paths of directories that may be changed beside the workspace"},
	"sandbox.PolicyConfig.tempDirs": {"those of the system", "absolute paths of the temp directories, which may be changed; [] for none"},

	"fspolicy.Config.requireFullRead": {"no", "whether a file must have been read whole before it may be overwritten whole"},
	"fspolicy.Config.maxTextBytes":    {"16777216", "bytes of memory for texts that were seen, for better refusals; negative keeps none"},

	"toolfs.Config.readLimit":         {"2000", "lines of one read"},
	"toolfs.Config.readMaxLineLength": {"2000", "characters of a line that are shown"},
	"toolfs.Config.readMaxBytes":      {"51200", "bytes of the lines of one read"},
	"toolfs.Config.readStreamMinSize": {"10485760", "size in bytes from which a file is streamed instead of loaded"},

	"fileops.Config.register":          {"hub", "one tool with all operations, a tool for each, or both"},
	"fileops.Config.sandboxRoot":       {"", "the directory that every path must lie in; none where it is not given"},
	"fileops.Config.allow":             {"all on", "switches such as allow_delete, by name"},
	"fileops.Config.noApproval":        {"no", "whether changes happen without asking"},
	"fileops.Config.backupRoot":        {"a folder beside each file", "where backups go"},
	"fileops.Config.maxScannedFiles":   {"no bound", "files or entries that one tree or search may look at, whatever it asks for"},
	"fileops.Config.maxScannedBytes":   {"no bound", "bytes that one search may read, whatever it asks for"},
	"fileops.Config.maxScanMs":         {"no bound", "milliseconds that one tree or search may take, whatever it asks for"},
	"fileops.Config.backupToolChanges": {"no", "whether what other file tools change is backed up too, for demo rewind"},

	"approve.Config.policy": {"ask", "whether questions are asked, or all rejected unasked"},

	"attachments.Config.dir":                        {"attachments in the store", "the directory of the images"},
	"attachments.Config.concurrency":                {"2", "images that are decoded or encoded at once"},
	"attachments.Config.grace":                      {"1h", "age under which an image is never collected"},
	"attachment.Limits.maxImageBytes":               {"20971520", "bytes of one image as it comes in"},
	"attachment.Limits.maxMessageImages":            {"20", "images of one message"},
	"attachment.Limits.maxMessageImageBytes":        {"209715200", "bytes of all images of one message"},
	"attachment.Limits.maxImagePixels":              {"64000000", "width times height of an image"},
	"attachment.Limits.maxImageDimension":           {"8192", "pixels of each side"},
	"attachment.Limits.normalizedImageMaxDimension": {"2048", "pixels of the long edge of what is stored"},
	"attachment.Limits.mediaTypes":                  {"all four", "types of images that are admitted: image/png, image/jpeg, image/webp, image/gif"},
	"attachment.Limits.normalizedImageMaxBytes":     {"4194304", "bytes of what is stored"},

	"models.Config.closed":            {"", "providers that have no models but those of which something is known"},
	"llm.ModelInfo.name":              {"", "the model's name for people"},
	"llm.ModelInfo.contextWindow":     {"the catalogue's", "tokens that a request and its answer may have together"},
	"llm.ModelInfo.maxOutputTokens":   {"the catalogue's", "tokens of one answer"},
	"llm.ModelInfo.inputModalities":   {"the catalogue's", "what the model takes"},
	"llm.ModelInfo.reasoningEfforts":  {"the catalogue's", "the efforts that may be asked for, weakest first"},
	"llm.MediaLimits.maxImages":       {"the catalogue's", "images of one request"},
	"llm.MediaLimits.maxDimension":    {"the catalogue's", "pixels of each side of an image"},
	"llm.MediaLimits.maxPixels":       {"the catalogue's", "width times height of an image"},
	"llm.MediaLimits.maxBytes":        {"the catalogue's", "bytes of one image"},
	"llm.MediaLimits.maxRequestBytes": {"the catalogue's", "bytes of a whole request"},

	"openai.Config.flavour":            {"openai", "the kind of server"},
	"openai.Config.provider":           {"the flavour", "the provider id, the first part of a model's name"},
	"openai.Config.baseURL":            {"the flavour's", "what /chat/completions is added to"},
	"openai.Config.apiKey":             {"that of apiKeyEnv", "the key; better kept in the environment"},
	"openai.Config.apiKeyEnv":          {"the flavour's, such as OPENAI_API_KEY; none for another host", "the environment variable of the key"},
	"openai.Config.headers":            {"", "headers of every request"},
	"openai.Config.vendor":             {"the flavour's", "the part of the catalogue that holds for these models"},
	"openai.Config.maxTokensField":     {"the flavour's", "the field that bounds an answer"},
	"openai.Config.sendReasoning":      {"tool-calls for deepseek, else never", "which answers go back with their reasoning"},
	"openai.Config.reasoningField":     {"the flavour's", "the field in which reasoning goes back"},
	"openai.Config.extra":              {"", "fields for the body of every request; null takes one out"},
	"openai.Config.idleTimeoutSeconds": {"300", "how long the server may send nothing; negative for no bound"},
	"openai.Config.maxResponseBytes":   {"67108864", "bytes of an answer"},

	"anthropic.Config.provider":           {"anthropic", "the provider id, the first part of a model's name"},
	"anthropic.Config.baseURL":            {"https://api.anthropic.com", "what /v1/messages is added to"},
	"anthropic.Config.apiKey":             {"that of apiKeyEnv", "the key; better kept in the environment"},
	"anthropic.Config.apiKeyEnv":          {"ANTHROPIC_API_KEY; none for another host", "the environment variable of the key"},
	"anthropic.Config.headers":            {"", "headers of every request"},
	"anthropic.Config.vendor":             {"anthropic", "the part of the catalogue that holds for these models"},
	"anthropic.Config.thinkingBudgets":    {"low 4096, medium 10000, high 24000", "tokens of reasoning by effort, from 1024"},
	"anthropic.Config.noCache":            {"no", "whether the marks for the prompt cache are left out"},
	"anthropic.Config.extra":              {"", "fields for the body of every request; null takes one out"},
	"anthropic.Config.idleTimeoutSeconds": {"300", "how long the server may send nothing; negative for no bound"},
	"anthropic.Config.maxResponseBytes":   {"67108864", "bytes of an answer"},
}
