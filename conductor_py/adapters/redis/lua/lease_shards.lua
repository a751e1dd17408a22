-- PURPOSE    Renew a server's presence and its shard names, take names for it, give one back when another has none.
-- KEYS       prefix of partition 0 (every key used is it and a name of keys.py)
-- ARGV       now, server, lease in ms, wanted names
-- RETURNS    the names it holds now, in order
-- INVARIANT  A name is held by one live server, save that configured names go to whoever was configured last.
-- BOUND      Servers and shard names ever at once.
-- @include time
local P, now, server = KEYS[1], store_now(ARGV[1]), ARGV[2]
local until_ms = int(now + tonumber(ARGV[3]))
local servers, shards = P .. 'servers', P .. 'shards'
local wanted, configured = {}, #ARGV > 3
for i = 4, #ARGV do
  wanted[ARGV[i]] = true
end

local holds, live, named = {}, {}, {}
local flat = redis.call('HGETALL', servers)
for i = 1, #flat, 2 do
  local ends, fixed = string.match(flat[i + 1], '^(%d+) (%d)$')
  if flat[i] ~= server and tonumber(ends) > now then
    live[flat[i]] = {fixed = fixed == '1', names = 0}
  end
end
local spare, mine = {}, {}
flat = redis.call('HGETALL', shards)
for i = 1, #flat, 2 do
  local ends, owner = string.match(flat[i + 1], '^(%d+) (.*)$')
  named[flat[i]] = true
  if owner == server then
    mine[#mine + 1] = flat[i]
  elseif owner ~= server and tonumber(ends) > now and live[owner] then
    live[owner].names = live[owner].names + 1
  else
    spare[#spare + 1] = flat[i]
  end
end

local function before(one, other)
  local a, b = string.match(one, '^s(%d+)$'), string.match(other, '^s(%d+)$')
  if a and b then
    return tonumber(a) < tonumber(b)
  end
  if a or b then
    return b ~= nil
  end
  return one < other
end
table.sort(spare, before)
table.sort(mine, before)

local unnamed, many = false, false
for _, other in pairs(live) do
  unnamed = unnamed or other.names == 0
  many = many or (other.names > 1 and not other.fixed)
end

if configured then
  for _, name in ipairs(spare) do
    mine[#mine + 1] = name
  end
  for _, name in ipairs(mine) do
    wanted[name] = nil
  end
  for name in pairs(wanted) do
    mine[#mine + 1] = name
  end
elseif #mine == 0 then
  if #spare > 0 then
    mine = {spare[1]}
  elseif not many then
    local n = 0
    while named['s' .. n] do
      n = n + 1
    end
    mine = {'s' .. n}
  end
elseif unnamed then
  if #mine > 1 then
    redis.call('HSET', shards, table.remove(mine), '0 ')
  end
else
  for _, name in ipairs(spare) do
    mine[#mine + 1] = name
  end
end
for name in pairs(live) do
  holds[name] = true
end
flat = redis.call('HKEYS', servers)
for _, name in ipairs(flat) do
  if name ~= server and not holds[name] then
    redis.call('HDEL', servers, name)
  end
end
redis.call('HSET', servers, server, until_ms .. ' ' .. (configured and 1 or 0))
for _, name in ipairs(mine) do
  redis.call('HSET', shards, name, until_ms .. ' ' .. server)
end
table.sort(mine, before)
return mine
