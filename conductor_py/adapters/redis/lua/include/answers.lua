-- Answers of operations: "<ms>" while owed, "<ms> <answer>" once given; for 60 s. Nobody waits for longer than ten: of
-- those that are older the newest are kept, as long as there are 64 with the others. More than 1,024 are kept of none.
-- Once in 64 new ones somebody looks.
local function answer_of(P, id, operation, now)
  local text = redis.call('HGET', P .. 'ans:' .. id, operation)
  if not text then
    return nil
  end
  local at, space, answer = string.match(text, '^(%d+)( ?)(.*)$')
  if now - tonumber(at) > 60000 then
    return nil
  end
  return {answered = space == ' ', text = answer}
end

local function forget_old_answers(key, now)
  local all, kept = redis.call('HGETALL', key), {}
  for i = 1, #all, 2 do
    kept[#kept + 1] = {tonumber(string.match(all[i + 1], '^%d+')), all[i]}
  end
  table.sort(kept, function(one, other)
    if one[1] ~= other[1] then
      return one[1] < other[1]
    end
    return one[2] < other[2]
  end)
  for i = 1, #kept - 64 do
    if now - kept[i][1] <= 10000 and #kept - i < 1024 then
      break
    end
    redis.call('HDEL', key, kept[i][2])
  end
end

local function put_answer(P, id, operation, text, now)
  local key = P .. 'ans:' .. id
  local is_new = redis.call('HSET', key, operation, text) == 1
  redis.call('PEXPIRE', key, 60000)
  if is_new and redis.call('HLEN', key) % 64 == 0 then
    forget_old_answers(key, now)
  end
end
