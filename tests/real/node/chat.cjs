// What the official Node client makes of a server: `node chat.cjs URL MODEL` prints it as one JSON object.
const OpenAI = require("openai");

const [baseURL, model] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });
const ask = (content, more = {}) => ({ model, messages: [{ role: "user", content }], ...more });
const CALL = '[[say]]<tool_call>{"name": "get_weather", "arguments": {"city": "Lugo"}}</tool_call>[[/say]]';
const parameters = { type: "object", properties: { city: { type: "string" } } };
const tools = [{ type: "function", function: { name: "get_weather", parameters } }];

async function streamed() {
  const texts = [];
  const stream = await client.chat.completions.create(ask("hola", { stream: true, stream_options: { include_usage: true } }));
  let usage = null;
  for await (const chunk of stream) {
    texts.push(...chunk.choices.map((choice) => choice.delta.content).filter(Boolean));
    usage = chunk.usage ?? usage;
  }
  return { texts, usage };
}

async function response() {
  const stream = client.responses.stream({ model, input: "hola" });
  let text = "";
  stream.on("response.output_text.delta", (event) => (text += event.delta));
  return { text, final: (await stream.finalResponse()).output_text, whole: text };
}

async function refusal(request) {
  try {
    await client.chat.completions.create(request);
  } catch (error) {
    return { name: error.constructor.name, status: error.status };
  }
}

async function main() {
  const whole = await client.chat.completions.create(ask("¿Cuándo llega mi pedido?"));
  const tool = await client.chat.completions.stream(ask(CALL, { tools })).finalChatCompletion();
  const completion = await client.completions.create({ model, prompt: "hola", max_tokens: 2 });
  const models = await client.models.list();
  return {
    whole: { text: whole.choices[0].message.content, usage: whole.usage },
    streamed: await streamed(),
    tool: { reason: tool.choices[0].finish_reason, call: tool.choices[0].message.tool_calls[0].function },
    completion: completion.choices[0].text,
    response: await response(),
    models: models.data.map((entry) => entry.id),
    refusals: [await refusal(ask("hola", { temperature: -1 })), await refusal({ ...ask("hola"), model: "nobody" })],
  };
}

main().then((made) => console.log(JSON.stringify(made)));
