// Arguments: the folder of @nats-io/nats-core, the URL, options of the connection as JSON.
import { createRequire } from "node:module";
import process from "node:process";
import { talk } from "./websocket_talk.mjs";
const [folder, servers, options] = process.argv.slice(2);
const core = createRequire(`${folder}/`)("@nats-io/nats-core");
console.log(JSON.stringify(await talk(core, { servers, ...JSON.parse(options ?? "{}") })));
