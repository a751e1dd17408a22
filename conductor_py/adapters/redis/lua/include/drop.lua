-- Executions that cannot be read and are given up; nothing is left of one. Its timers and entries drop out by themselves:
-- their owner is gone.

-- A text of its header: of one that is no JSON any more as it is spelled there; nil: there is none.
local function text_of_header(header, name)
  local is_json, read = pcall(cjson.decode, header)
  local text = is_json and type(read) == 'table' and read[name] or string.match(header, '"' .. name .. '":%s*"([^"\\]*)"')
  return type(text) == 'string' and text ~= '' and text or nil
end

-- Frees its place under a workflow limit, and lets who waits for one have it.
local function free_place(P, id, header, admitted, now)
  local key = text_of_header(header, 'akey')
  if not key then
    return
  end
  redis.call('ZREM', P .. 'waiting:' .. key, id)
  if redis.call('ZREM', P .. 'admitted:' .. key, id) == 1 then
    admit_waiting(P, key, admitted, now, redis.call('EXISTS', P .. 'permitted:' .. 'w:' .. key) == 1)
  end
end

-- Takes one out, by whatever of it can be read; `name` is that of its workflow, for a header that has none. Where the
-- header is lost, its plan counts it for ever: nobody knows which that was. The effect has index and archive forget what
-- is not newer; without one (an empty id) they are not told. `admitted` is the event of who gets its place. `post` is the
-- effect that tells the parent, so much later; an empty id: there is none. It is ordered first, as an error undoes nothing.
-- False where the header is not `header` any more, of which the post was made: nothing is done.
local function drop_execution(P, dropped, channel, now)
  local id, name, effect, admitted, header, post, document, later = unpack(dropped)
  local found = redis.pcall('HMGET', P .. 'exec:' .. id, 'v', 'h', 'restoring')
  if found.err then
    found = {}
  end
  if header ~= (found[2] or '') then
    return false
  end
  local version = tonumber(string.match(found[1] or '', '^(%d+) ') or 0)
  local stamp = int(version < 2 ^ 53 and math.max(version, now) or now)
  if post ~= '' then
    redis.call('HSET', P .. 'effects', post, stamp .. ' ' .. document)
    redis.call('ZADD', P .. 'outbox', int(now + tonumber(later)), post)
  end
  if not found[3] then  -- one that is on its way back is not counted yet
    count_reference(P, plan_of_header(header), -1)
  end
  redis.call('ZREM', P .. 'running:' .. (text_of_header(header, 'name') or name), id)
  redis.call('ZREM', P .. 'quarantine', id)
  for _, kind in ipairs({'exec', 'inbox', 'ans', 'park', 'ckpt', 'log'}) do
    redis.call('UNLINK', P .. kind .. ':' .. id)
  end
  free_place(P, id, header, admitted, now)
  if effect ~= '' then
    redis.call('HSET', P .. 'effects', effect, stamp .. ' {"kind":"forget"}')
    redis.call('ZADD', P .. 'outbox', int(now), effect)
    publish(channel, 'e:' .. string.match(P, ':(%d+)}'))
  end
  return true
end
