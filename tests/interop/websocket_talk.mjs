// nats.js with the WebSocket of the platform: subscribes, publishes, asks, in one connection.
// It runs in Node, in Deno and in a browser.
export async function talk({ wsconnect, headers }, options) {
  const nc = await wsconnect({ reconnect: false, ...options });
  const sizes = [0, 1, 125, 126, 65_535, 65_536, 300_000];
  const heard = [];
  const sub = nc.subscribe("size.*", { max: sizes.length });
  for (const size of sizes) {
    const fields = headers();
    fields.set("Size", String(size));
    nc.publish(`size.${size}`, new Uint8Array(size).fill(65), { headers: fields });
  }
  for await (const message of sub) {
    const good = message.data.every((byte) => byte === 65);
    heard.push([message.subject, message.data.length, message.headers.get("Size"), good]);
  }
  nc.subscribe("echo", { callback: (_, message) => message.respond(message.data) });
  const answer = (await nc.request("echo", "are you there?")).string();
  let refused = "";
  try {
    await nc.request("nobody", "");
  } catch (error) {
    refused = error.cause?.name ?? error.name;
  }
  const { port } = nc.info;
  await nc.drain();
  return { heard, answer, refused, port };
}
