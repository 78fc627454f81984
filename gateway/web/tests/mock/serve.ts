import { MockServer } from './server';

/** `npm run preview`: the built page over the mock, to be looked at by hand. */
const server = await new MockServer().start(Number(process.env['PORT'] ?? 4180));
server.pace = 30;
console.log(server.url);
