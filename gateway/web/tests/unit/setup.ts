import '../../src/protocol/zod';
